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
        disse ditt du eller en enn er et ett etter for fordi fra før gjennom ha hadde ham han hans har henne hennes
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
    "ukrainian": """
        а або але без би був була були було бути в вам вами вас весь ви він вона вони воно все всі всіх всього від для
        до ж за з зі і із його йому її їй їм їх й коли котрий котра ким кого кому лише мене мені ми може мій моя моє мої
        на над нам нами нас наш наша наше наші не неї нею ні ніж ним них о об однак під після по при про саме свій своя
        своє свої себе собі та так така таке такий такі також там те теж ти тим то тобто того той тому тут у хто хоча це
        цей ця цього цьому ці цих чи чий чия чого чому що щоб щодо як яка яке який які якого якої якщо я
    """,
    "polish": """
        a aby albo ale ani bardzo bez bo by być był była było były będzie będą bądź choć co coś czy czyli czym dla
        dlaczego do gdy gdyby gdzie go i ich ile im inny inna inne innych ja jak jaka jaki jakie jako je jednak jego jej
        jemu jest jestem jeszcze jeśli jeżeli już ją każdy każda kiedy kim kto która które którego której który których
        którym którzy ku lub ma mają mi między mnie mną moja moje mój może my na nad nam nami nas nasz nasza nasze nawet
        nich nie nią nim niż o od ona one oni ono oraz po pod ponieważ pomimo poza przed przez przy również są się skąd
        swoje swój ta tak taka taki takie także tam te tego tej ten też to tobie tu tutaj tych tylko tym u w wam was
        wasz we więc wszystkie wszystko wy z za zawsze ze że żeby
    """,
    "czech": """
        a aby ač ačkoli ale ani ano asi až bez bude budou by byl byla byli bylo být co což či další do ho i jak jaký
        jaká jaké jako je jeho jej její jejich jemu jen jenž jestli ještě ji jí jich jim jimi jiné jsem jsi jsme jsou
        jste k kam každý kde kdo kdy když ke kolik kromě která které kterého který kteří ku má mají mezi mě mi mne mnou
        můj může my na nad nám námi nás náš ne nebo nebyl něco nejsou než nic ní nich ním o od on ona oni ono pak po pod
        podle pokud potom pouze právě pro proč proto protože před přes při s se si sice sám svůj své ta tak také takový
        tam té tedy ten tento této toho tohoto tom tomto tomu toto tu tuto ty tyto u už v vám vás váš ve více však vše
        všechny vy z za zda zde ze že
    """,
    "romanian": """
        a acea aceasta această aceea aceia acel acela acele acelea acest acesta aceste acestea acestei acestor acestui
        aceștia ai al ale altă alte altul am ar are as asta astfel asupra atât atunci au avea avem aveți aveau avut ca
        când că care căruia cărei căror ce cea cei cel cele celor chiar ci cine cât câte câți cu cum cumva da dacă dar
        de deci deja deși despre din dintre după ea ei el ele era erau este eu fără fi fie fiecare fiind foarte fost iar
        îi îl îmi în încă înainte îndată între își îți la le lor lui mai mă mea mei mele meu mi mult ne nici niciun
        nimic noastră nostru noi nu o or ori orice pe pentru peste până prin sa sau să săi sale său se si sub sunt spre
        și te tot toată toate toți tu un una unei unele unor unui unde va vă voi vom vor vreo
    """,
    "catalan": """
        a abans això així al algun alguna algunes alguns allò als altra altre altres amb aquell aquella aquelles aquells
        aquest aquesta aquestes aquests aquí cada com contra d de del dels des després doncs durant e el ell ella elles
        ells els em en encara ens entre era eren es és esta està estan estat et fins fou ha haver havia he hem hi ho i
        ja jo l la les li llavors lo m ma mai malgrat més mentre meu meva mi molt n ni no nosaltres nostra nostre o on
        per perquè però poc podem pot pels pel qual quals quan quant que què quin quina qui s sa sense ser serà seu seus
        seva seves si sobre són sota també tan te tenen té teu tot tota totes tots tu un una unes uns us va van
        vosaltres
    """,
    "finnish": """
        ei eivät emme en et ette eli että hän häneen hänelle hänen hänestä hänet he heidän heille heitä ja jo joiden
        joita joka jokin jolla jolle jonka jos joskus jossa josta jota jotka jotta joten kanssa kaikki kaikkien kautta
        koska koskaan kuin kuinka kuitenkin kuka kun ketä kenen keitä lisäksi me meidän meille meitä mikä mihin mikään
        millainen milloin miksi minä minulla minun minut minkä missä mistä mitä mitkä mukaan mutta myös ne niiden niille
        niin niissä niistä niitä noin nuo nyt näiden näin näissä nämä ole oli olisi olivat olen olemme olet olette olla
        ollut on ovat se sekä sen siellä siihen siis siitä sillä silloin sinun sinä sitä sitten tai te teidän tässä
        tästä tätä tämä tämän tähän tuo tuon tällä vaan vaikka vain vai voi yli
    """,
    "hungarian": """
        a abban ahhoz ahogy ahol aki akik akkor alatt amely amelyek amelyeket amelyet ami amíg amikor amit an annak arra
        arról az azért azok azon azonban azt aztán azután be bár belül de e ebben egy egyéb egyes egyik egyre ehhez el
        ellen elő először előtt én ennek erre és ez ezek ezen ezért ezt fel felé ha hanem hiszen hogy hogyan így illetve
        ill ilyen is itt kell keresztül ki kik kívül közben közé között közül le legyen lenni lesz lett maga magát majd
        már más meg mely melyek mellett mert mi miért milyen mind mindig mint mintha mit mivel még nagyon ne neki nekem
        nélkül nem néha nincs ő ők őket olyan ott pedig persze rá s sem semmi számára szerint szinte talán te tehát ti
        többi több tovább továbbá úgy ugyanis úgynevezett után utána vagy vagyok valaki valami való van vannak vele
        viszont volna volt voltak
    """,
    "turkish": """
        acaba ama ancak artık asla aslında az bana bazen bazı belki ben benden beni benim beri bile bir biri birkaç
        birçok biz bize bizi bizim bu buna bunda bundan bunlar bunları bunların bunu bunun burada çok çünkü da daha dahi
        de değil diğer diye dolayı eğer en fakat gibi göre ha hangi hani hem henüz hep hepsi her herhangi herkes hiç
        hiçbir için ile ilgili ise işte kadar karşı kendi kendisi ki kim kimi kimin kimse mı mi mu mü nasıl ne neden
        nedenle nerede nereye niçin niye o olan olarak oldu olduğu olduğunu olduğundan olup olur ona ondan onlar onların
        onu onun orada oysa öyle pek rağmen sadece sana sen seni senin siz size sizin sonra şey şimdi şöyle şu şunu
        tarafından tüm üzere var ve veya ya yani yerine yine yoksa zaten
    """,
    "greek": """
        αλλά αν ανά αντί από απ αυτά αυτές αυτή αυτήν αυτό αυτοί αυτός αυτού αυτούς αυτών άλλα άλλη άλλο άλλοι άλλος για
        γιατί δε δεν δηλαδή δια εάν εγώ εδώ είμαι είναι είσαι είστε είτε είχαν είχε εκεί εκείνα εκείνη εκείνο εκείνος
        ένα έναν ένας ενός ενώ επειδή επί επίσης εσύ εσείς εμείς έχει έχουν έχω ή ήδη ήταν η θα ίσως κάθε και κάποια
        κάποιο κάποιος κατά κι μα μας με μέσα μεταξύ μετά μέχρι μη μην μία μια μόνο μου μπορεί να ο οι όμως όπου όπως
        όταν ότι ου ούτε όχι όλα όλες όλη όλοι όλος παρά πιο ποια ποιες ποιο ποιοι ποιος πολύ που πότε πού πριν
        προς πώς σαν σας σε στα στη στην στις στο στον στους στων συν σου τα τη την της τι τις το τον τότε του τους των
        τώρα υπό ως ώστε
    """,
    "arabic": """
        إذ إذا إذن إلا إلى الى الا أم أما أمام أن ان إن إنه أنه أنها أو او أي أيضا ايضا أين اين أية أيها بأن بد بعد بعض
        بل بلا بما به بها بهذا بهذه بين بينما تحت تلك ثم حتى حول حيث حين خلال دون ذات ذلك رغم سوف سوى ضد ضمن عبر عدا على
        عليه عليها عليهم عن عند عندما عنه عنها غير فإن فقد فقط في فى فيما فيه فيها قبل قد كان كانت كانوا كذلك كل كلا
        كلما كم كما كي كيف لا لأن لان لدى لذلك لعل لقد لكن لكنه لم لما لماذا لن له لها لهذا لهم لو لولا ليس ليست ما ماذا
        متى مثل مع معه معها مما من منذ منه منها منهم مهما نحن نحو نعم هؤلاء هذا هذه هذان هل هم هما هن هنا هناك هو هي و
        ولا وما ولم وهو وهي يكون تكون يا التي الذي الذين اللذان اللتي اللاتي أثناء كأن
    """,
    "persian": """
        از اگر اما این ایشان این‌که اینکه آن آنان آنجا آنچه آنکه آنها آن‌ها آیا با باز باشد باشند بدون بر برای برخی بعد
        بعضی بلکه بنابراین به بود بودن بودند بوده بی بین پس تا تحت تر ترین تنها تو جز چرا چگونه چنان چنین چه چون چند حتی
        خواهد خود خویش در درباره دیگر را روی زیر زیرا سپس شان شد شدن شده شود شوند علیه فقط که کجا کدام کرد کردن کرده کسی
        کند کنند کنید گاهی گر ما مانند مثل مگر من می نباید نمی نه نیز نیست هر هرچند هست هستند هم همان همه همین هنوز هیچ
        و وقتی ولی وی یا یعنی یک یکی
    """,
    "urdu": """
        آپ آئی ابھی اپنا اپنی اپنے اس اسے اسی ان انہوں انہیں ایسا ایسی ایسے ایک اور اگر بعد بھی بہت پر پہ پھر تا تاکہ تب
        تک تم تھا تھی تھیں تھے تو جا جب جس جسے جن جنہوں جو جہاں چونکہ حالانکہ خود درمیان دوران دیا دی دیے ساتھ سب سے
        سکتا سکتی سکتے طرح طور کا کب کہ کہاں کر کرتا کرتی کرتے کرنا کرنے کس کسی کو کوئی کون کونسا کونسی کی کیا کیسے کیوں
        کیونکہ کے گئی گئے گا گی گے لئے لیکن لیے مگر میں میرا میری میرے نہ نہیں نے وہ وہاں والا والی والے وغیرہ ہم ہمارا
        ہمارے ہو ہوا ہوئی ہوئے ہوتا ہوتی ہوتے ہوں ہی ہے ہیں یا یہ یہاں یعنی
    """,
    "hindi": """
        अगर अत अथवा अपना अपनी अपने अब अभी आदि आप इतना इन इनका इनकी इनके इन्हें इस इसका इसकी इसके इसमें इसलिए इसी इसे उन
        उनका उनकी उनके उनको उन्हें उन्होंने उस उसका उसकी उसके उसने उसी उसे एक एवं ऐसा ऐसी ऐसे और कब कभी कर करता करती
        करते करना करने कहाँ का कि किस किसका किसकी किसके किसने किसी किसे की कितना कितनी कितने कुछ के को कोई कौन कौनसा
        क्या क्यों क्योंकि गई गए गया जब जहाँ जा जाता जाती जाते जिन जिनके जिस जिसका जिसके जिसमें जिसे जैसा जैसे जो तक तब
        तथा तरह तुम तो था थी थे दिया दी द्वारा न नहीं ने पर परंतु फिर बहुत बाद बारे भी मगर मुझे में मेरा मेरी मेरे मैं
        यदि यह यहाँ या ये रहा रही रहे लिए लेकिन व वह वहाँ वाला वाली वाले वे सकता सकती सकते सब सभी साथ से हम हमारा हमारे
        ही हुआ हुई हुए हूँ है हैं हो होता होती होते होना होने
    """,
    "indonesian": """
        ada adalah adapun agar akan aku anda antara apa apabila apakah atas atau bagaimana bagi bahkan bahwa beberapa
        begitu belum berapa bila bisa bukan dalam dan dapat dari daripada demi dengan di dia hanya harus hingga ia ialah
        ini itu jika juga kalau kami kamu kapan karena ke kemudian kepada ketika kita lagi lain lalu lebih maka mana
        masih melainkan mereka meski meskipun mengapa namun nya oleh pada para per pernah pun saat saja sambil sampai
        sangat saya sebab sebagai sebelum sebuah secara sedang sehingga sejak selain selama seluruh semua seorang
        seperti serta sesudah setelah setiap siapa sudah supaya suatu tak tanpa telah tentang tersebut terhadap tetapi
        tiap tidak untuk walaupun yaitu yakni yang
    """,
    "hebrew": """
        אבל או אולי אותה אותו אותי אותך אותם אותן אותנו אז אחר אחרי אחת איזה איזו איך אילו אין אינה אינו אינם איפה אך אל
        אלא אלה אלו אם אנו אנחנו אני אף אפילו את אתה אתם אתן באיזה באיזו בגלל בה בהם בו בין בכל בלי בעוד בעת בתוך גם דרך
        הוא היא היה היו הייתה היתה הם הן הנה הרי ואת וגם זאת זה זו יש ידי יותר כאשר כבר כדי כי כך כל כמה כמו כן לא לאחר
        לה להם להן לו לי לכם לכן לנו לפי לפני לשם מאד מאוד מאז מדוע מה מול מי מכל מן מפני מתי נגד נו על עליה עליו עליהם
        עד עוד עם עצמו פה רק של שלא שלה שלהם שלו שלי שלך שלנו שם שבו שבה תוך תחת
    """,
    "vietnamese": """
        ai bao bằng bị bởi các cái càng cả chỉ chính cho chúng chưa có còn của cùng cũng cứ đã đang đâu đây đến để đều
        do đó được dù gì hay hãy hơn không khi là lại lên mà mỗi mọi một này nào nên nếu ngay nhưng như những nơi nữa ở
        phải qua ra rằng rất rồi sau sẽ so sự tại theo thì trên trong trước từ từng tuy và vào vẫn vậy về vì việc với
        vừa
    """,
}
"""Space-separated, spelled with their accents; they are normalised like the text before comparing."""


def stop_words(chosen: bool | tuple[str, ...], language: str) -> frozenset[str]:
    """The words to leave out, as written, for a validated `WordSettings.stop_words`."""
    if isinstance(chosen, bool):
        return frozenset(STOP_WORDS.get(language, "").split()) if chosen else frozenset()
    return frozenset(chosen)
