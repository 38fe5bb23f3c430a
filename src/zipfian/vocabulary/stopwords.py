"""Function words by language, written for this project: articles, pronouns, prepositions, conjunctions, auxiliaries.

Short on purpose: words that somebody may look for (`us`, `will`, `mine`, `first`, `system`) are not in it.
"""

from __future__ import annotations

STOP_WORDS: dict[str, str] = {
    "english": """
        a about above after again against all also although am among an and any are as at be because been before being
        below between both but by can cannot could did do does doing done down during each either else for from further
        had has have having he her here hers herself him himself his how however i if in into is it its itself just may
        me might more most must my myself neither no nor not of off on once only onto or other our ours ourselves
        out over own per quite rather same shall she should since so some such than that the their theirs them
        themselves then there therefore these they this those though through thus to too under until up upon very was we
        were what whatever when where whereas whether which while who whom whose why with within without would yet you
        your yours yourself yourselves i'm you're we're they're i've you've we've they've i'd you'd he'd she'd we'd
        they'd i'll you'll he'll she'll we'll they'll don't doesn't didn't isn't aren't wasn't weren't hasn't haven't
        hadn't can't couldn't won't wouldn't shouldn't mustn't
    """,
    "german": """
        aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus bei
        beim bin bis bist da damit dann das dass dein deine deinem deinen deiner dem den denn der deren des dessen dich
        die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas
        euch euer eure eurem euren eurer für gegen habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr
        ihre ihrem ihren ihrer im in indem ins ist ja jede jedem jeden jeder jedes jene jenem jenen jener jenes kann
        kein keine keinem keinen keiner können könnte man manche mein meine meinem meinen meiner mich mir mit muss
        müssen nach nein nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie sind
        so solche soll sollen sollte sondern über um und uns unser unsere unserem unseren unserer unter vom von vor
        während war waren warst was weder weil welche welchem welchen welcher welches wenn wer werde werden wie wieder
        wir wird wirst wo wollen wollte wurde wurden würde würden zu zum zur zwar zwischen
    """,
    "french": """
        à afin ai ainsi alors après as au aucun aucune auquel aussi autre autres aux auxquels avaient avait avant avec
        avez avoir avons c car ce ceci cela celle celles celui ces cet cette ceux chaque chez ci comme comment d dans de
        depuis des donc dont du duquel elle elles en encore entre es est et étaient étais était étant été êtes être eu
        eux fut il ils j je jusque l la là laquelle le lequel les lesquelles lesquels leur leurs lorsque lui m ma mais
        me même mêmes mes moi moins mon n ne ni nos notre nôtre nous on ont or ou où par parce pas pendant peu peut
        plus pour pourquoi puis puisque qu quand que quel quelle quelles quels qui quoi quoique s sa sans se selon sera
        ses si soi soit sommes son sont sous suis sur t ta te tes toi ton tous tout toute toutes très tu un une vers
        vos votre vôtre vous y
    """,
    "spanish": """
        a al algo algún alguna algunas algunos ante antes aquel aquella aquellas aquellos aquí así aún aunque bajo cada
        como cómo con contra cual cuál cuales cuando cuándo cuyo cuya de del desde donde dónde durante e el él ella
        ellas ellos en entre era eran eres es esa esas ese eso esos está estaba estaban están estar estas esta este esto
        estos estoy fue fueron ha había habían haber hace han has hasta hay he la las le les lo los más me mi mí mis
        mientras mucho muy nada ni ningún ninguna no nos nosotros nuestra nuestras nuestro nuestros o os otra otras otro
        otros para pero poco por porque pues que qué quien quién quienes se sea según ser si sí sido siempre sin sino
        sobre son soy su sus también tampoco tan tanto te tiene tienen toda todas todo todos tras tu tú tus u un una
        unas uno unos usted ustedes vosotros y ya yo
    """,
    "italian": """
        a ad agli ai al alla alle allo anche ancora avere aveva avevano c che chi ci ciò come con contro cosa cui d da
        dagli dai dal dalla dalle dallo degli dei del della delle dello dentro di dopo dove dunque e ed egli ella era
        erano essa esse essere essi esso fra fu furono già gli ha hai hanno ho i il in io l la le lei li lo loro lui ma
        me mentre mi mia mie miei mio molto ne né negli nei nel nella nelle nello noi non nostra nostre nostri nostro o
        ogni oppure per perché però più poi prima qual quale quali quando quanto quella quelle quelli quello questa
        queste questi questo qui sarà se sé sei senza si sia siamo siano siete sono sopra sotto sta stata state stati
        stato su sua sue sugli sui sul sulla sulle sullo suo suoi te ti tra tu tua tue tuo tuoi tutta tutte tutti tutto
        un una uno vi voi vostra vostre vostri vostro
    """,
    "portuguese": """
        a à ainda além algum alguma algumas alguns ante antes ao aos apenas após aquela aquelas aquele aqueles aquilo as
        às até cada com como contra cuja cujo da das de dela delas dele deles depois desde dessa desse desta deste do
        dos durante e é ela elas ele eles em entre era eram essa essas esse esses esta está estão estas estava estavam
        este estes eu foi foram há isso isto já la lhe lhes lo mais mas me mesmo meu meus mim minha minhas muito na não
        nas nem nenhum nessa nesse nesta neste no nos nós nossa nossas nosso nossos num numa o onde os ou para pela
        pelas pelo pelos pois por porque qual quais quando que quem são se seja sem sempre ser será seu seus si sido sob
        sobre sua suas também tanto te tem têm ter teu teus ti tinha tinham toda todas todo todos tu tua tuas tudo um
        uma umas uns você vocês vos
    """,
    "dutch": """
        aan al alle alleen als altijd andere ben bent bij binnen boven daar dan dat de deze die dit doch doen door dus
        een eens en er ge geen had hadden haar heb hebben hebt heeft hem hen het hier hij hoe hun ieder iedere iemand
        iets ik in is ja je jij jou jouw jullie kan kon konden kunnen maar me mee meer men met mij mijn moet moeten na
        naar nadat niet niets noch nog nu of om omdat onder ons onze ook op over reeds sinds te tegen toch toen tot
        tussen u uit uw van vanaf veel voor waar waarom wanneer want waren was wat we wel welke werd werden wie wij wil
        worden wordt zal ze zei zelf zich zij zijn zo zoals zonder zou zouden zullen
    """,
    "swedish": """
        alla allt än är att av bara blev bli blir blivit de dem den denna deras dess dessa det detta dig din dina ditt
        dock där då efter ej eller en er era ert ett från för före genom ha hade han hans har henne hennes här hon honom
        hos hur i icke in ingen inom inte ja jag kan kunde kunna man med medan mellan men mig min mina mitt mot mycket
        nej ni nu när någon något några och också om oss på redan samma sedan sig sin sina sitt ska skall skulle så
        sådan som till trots under upp ur ut utan vad var vara varför varit varje vars vem vi vid vilka vilken vilket
        vår våra vårt åt över
    """,
    "danish": """
        ad af alle allerede alt anden andet andre at blandt blev blive bliver da dag de dem den denne der deres det
        dette dig din dine disse dit dog du efter eller en end er et for fordi fra få får før gennem ham han hans har
        havde have hende hendes her hos hun hvad hvem hver hvilke hvilken hvis hvor hvordan hvorfor hvornår i ikke ind
        ingen intet jeg jer jeres kan kun kunne man med meget mellem men mens mig min mine mit mod må når ned noget
        nogle nu og også om op os over på samme selv sig sin sine sit skal skulle som således sådan til ud uden under
        var ved vi vil ville vor vore være været
    """,
    "norwegian": """
        alle allerede alt andre at av bare ble bli blir blitt både da de deg dem den denne der deres det dette din dine
        disse ditt du da eller en enn er et ett etter for fordi fra før gjennom ha hadde ham han hans har henne hennes
        her hos hun hva hvem hver hvilken hvilke hvis hvor hvordan hvorfor i ikke ingen inn jeg kan kun kunne man med
        meg mellom men mens min mine mitt mot mye må når ned noe noen nå og også om opp oss over på samme seg selv sin
        sine sitt skal skulle slik som så til under ut uten var ved vi vil ville vår våre vårt være vært å
    """,
    "russian": """
        а без бы был была были было быть в вам вами вас весь во вот все всё всего всех всем вы где да даже для до его её
        ей ему если есть еще ещё же за здесь и из или им ими их к как ко когда который которая которое которые кто ли
        либо мне много мной может мой моя моё мои мы на над надо наш наша наше наши не него неё ней нет ни них но ну о
        об однако он она они оно от очень по под после при про с свой своя своё свои себе себя со сам так также
        такой такая такое такие там те тем то тогда того тоже той только том ты тут у уже хотя чего чей чем что чтобы
        чья эта эти это этого этой этом этот я
    """,
}
"""Space-separated, spelled with their accents; they are normalised like the text before comparing."""


def stop_words(chosen: bool | tuple[str, ...], language: str) -> frozenset[str]:
    """The words to leave out, as written, for a validated `WordSettings.stop_words`."""
    if isinstance(chosen, bool):
        return frozenset(STOP_WORDS.get(language, "").split()) if chosen else frozenset()
    return frozenset(chosen)
